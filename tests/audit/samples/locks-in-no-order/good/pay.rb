class Payer
  def pay(ids)
    ids.sort.each do |id|
      db.execute("SELECT balance FROM account WHERE id = ? FOR UPDATE", id)
    end
  end

  def each_alone(ids)
    ids.each do |id|
      db.transaction do
        db.execute("SELECT balance FROM account WHERE id = ? FOR UPDATE", id)
      end
    end
  end
end
