class Account < ApplicationRecord
  def put(id, balance)
    connection.exec_update("UPDATE accounts SET balance = #{balance} WHERE id = #{id}")
    connection.exec_update("UPDATE letters SET body = 'x' || #{balance} WHERE id = #{id}")
  end
end
