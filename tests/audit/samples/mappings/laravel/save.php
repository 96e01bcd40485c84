<?php
class Account extends Model
{
    public function put($id, $balance)
    {
        DB::update('update accounts set balance = ? where id = ?', [$balance, $id]);
    }
}
