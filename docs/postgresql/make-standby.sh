# On db2, as user postgres, while its PostgreSQL is stopped and its data folder is empty. For db1 the other way round.
pg_basebackup -D /var/lib/postgresql/15/main -R -X stream -c fast -d \
  "host=db1.example.com user=replicator sslmode=verify-full sslrootcert=/etc/postgresql/ca.crt application_name=db2"
