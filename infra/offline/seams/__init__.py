"""Where moto's emulation is mended or replaced. Each module is one service, and moto's version is pinned for them."""
