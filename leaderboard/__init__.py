"""The site: takes submissions, hands them to runners, keeps what they report, ranks what holds up."""
