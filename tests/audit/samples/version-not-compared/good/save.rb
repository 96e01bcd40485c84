def save(id, balance, version)
  result = connection.exec_params(
    "UPDATE account SET balance = $1, version = version + 1 WHERE id = $2 AND version = $3",
    [balance, id, version]
  )
  raise Conflict if result.cmd_tuples.zero?
end
