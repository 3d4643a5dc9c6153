from runners.core.cli import main

main()
