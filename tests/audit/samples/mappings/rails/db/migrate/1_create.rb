class Create < ActiveRecord::Migration[7.0]
  def change
    create_table :accounts do |t|
      t.decimal :balance
      t.integer :lock_version
    end
    create_table :letters do |t|
      t.text :body
    end
    add_column :letters, :lock_version, :integer
  end
end
