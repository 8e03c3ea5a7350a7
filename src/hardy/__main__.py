from hardy.cli import main

main()
