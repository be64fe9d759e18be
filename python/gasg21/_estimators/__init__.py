"""The estimators: shells that validate, call the core and publish the result."""
