from hardy.cli.program import main

main()
