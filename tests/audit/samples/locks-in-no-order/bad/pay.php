<?php
function pay($db, $ids)
{
    foreach ($ids as $id) {
        $db->query("SELECT balance FROM account WHERE id = $id FOR UPDATE");
    }
}
