-- Lets an account use the store: its rows, not its shape.
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_meta TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_type TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_session TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_resource TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_lock TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_request TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_lost TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_event TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_token TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}_save TO {role};
GRANT SELECT ON {ns}_locks TO {role};
GRANT SELECT ON {ns}_versions TO {role};
GRANT EXECUTE ON PROCEDURE {ns}_check TO {role};
GRANT EXECUTE ON PROCEDURE {ns}_save TO {role};
GRANT EXECUTE ON PROCEDURE {ns}_remove TO {role};
GRANT EXECUTE ON PROCEDURE {ns}_expect TO {role};
