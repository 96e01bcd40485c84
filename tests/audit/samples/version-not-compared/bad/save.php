<?php
class Accounts
{
    public function save($pdo, $id, $balance)
    {
        $sql = "UPDATE `account` SET balance = ? ";
        $sql .= "WHERE id = ?";
        $pdo->prepare($sql)->execute([$balance, $id]);
    }

    public function print($db, $id, $balance)
    {
        $db->query(sprintf('UPDATE account SET balance = %d WHERE id = %d', $balance, $id));
    }
}
