class LettersController
  def update
    locks.acquire("letter", params[:id])
    db.execute("UPDATE letter SET body = ? WHERE id = ?", [params[:body], params[:id]])
  end
end
