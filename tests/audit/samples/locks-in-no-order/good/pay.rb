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

  def inside(ids)
    ids.each do |id|
      locks.acquire("account", id) do
        post(id)
      end
    end
  end
end
