class Issue < ActiveRecord::Base
  def self.close(ids)
    Issue.where(id: ids).update_all(subject: "closed")
  end
end
