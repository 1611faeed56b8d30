"""Operations on an instance: backup and restore, the doctor, the smoke test, what runs while it is stopped."""
