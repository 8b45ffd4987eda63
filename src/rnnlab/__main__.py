from rnnlab.cli.main import main

main()
