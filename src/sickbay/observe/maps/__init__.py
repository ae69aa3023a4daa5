"""What maps one array to another of the same samples, number for number: for what training and serving make of them (numpy only)."""
