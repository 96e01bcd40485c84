ActiveRecord::Schema.define do
  create_table "issues" do |t|
    t.string "subject"
    t.integer "lock_version", default: 0
  end
  create_table "notes" do |t|
    t.string "text"
  end
end
