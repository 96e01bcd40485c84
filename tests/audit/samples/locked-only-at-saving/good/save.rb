class LettersController
  def update
    locks.acquire("letter", params[:id])
    db.execute("UPDATE letter SET body = ? WHERE id = ? AND lock_version = ?", [params[:body], params[:id], params[:lock_version]])
  end
end
