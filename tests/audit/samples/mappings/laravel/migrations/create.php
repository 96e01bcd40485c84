<?php
return new class extends Migration {
    public function up(): void
    {
        Schema::create('accounts', function (Blueprint $table) {
            $table->id();
            $table->decimal('balance');
            $table->unsignedInteger('lock_version')->default(0);
        });
    }
};
