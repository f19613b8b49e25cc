"""How the client gets an answer out of a network that loses, delays and mangles them."""
