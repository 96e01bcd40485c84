"""An office in which people edit policies, one person a policy at a time."""
