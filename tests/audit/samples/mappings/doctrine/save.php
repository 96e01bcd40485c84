<?php
function save($c, $id, $b)
{
    $c->executeStatement('UPDATE account SET balance = :b WHERE id = :id', ['b' => $b, 'id' => $id]);
    $c->executeStatement('UPDATE letter SET body = :b WHERE id = :id', ['b' => $b, 'id' => $id]);
}
