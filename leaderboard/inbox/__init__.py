"""Messages to people about their competitions: on the site, by mail and by webhook."""
