"""The site: takes submissions, hands them to runners, keeps the reports and ranks the results that hold up."""
