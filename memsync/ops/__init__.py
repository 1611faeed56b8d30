"""Operations on an instance: backup, restore, doctor, smoke test, and offline work on the embedded databases."""
