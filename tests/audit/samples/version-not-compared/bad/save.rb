class Accounts
  def save(id, balance)
    connection.exec_params(<<~SQL, [balance, id])
      UPDATE account SET balance = $1 WHERE id = $2
    SQL
  end
end
