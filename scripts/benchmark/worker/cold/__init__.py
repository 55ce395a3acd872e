"""Two Workers that answer alike, for the time from start to first answer."""
