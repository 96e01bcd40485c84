class Payer
  def pay(ids)
    ids.each do |id|
      db.execute("SELECT balance FROM account WHERE id = ? FOR UPDATE", id)
    end
  end
end
