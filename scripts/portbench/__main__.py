from portbench.cli import main

main()
