class Account(Base):
    __tablename__ = "account"
    id = mapped_column(Integer, primary_key=True)
    revision = mapped_column(Integer, nullable=False)
    __mapper_args__ = {"version_id_col": revision}


def save(connection, id, balance):
    connection.execute(text("UPDATE account SET balance = :b WHERE id = :id"), {"b": balance, "id": id})
