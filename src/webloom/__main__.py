from webloom.entrypoints.cli.main import main

main()
