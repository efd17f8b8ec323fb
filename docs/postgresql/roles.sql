-- On the primary, as its administrator, with passwords of your own. The standby is not there yet: nobody waits for it.
SET synchronous_commit = local;
CREATE ROLE node_red LOGIN PASSWORD 'a password for Node-RED';
CREATE ROLE replicator LOGIN REPLICATION PASSWORD 'a password for the standby';
CREATE DATABASE rvm;
REVOKE ALL ON DATABASE rvm FROM PUBLIC;
GRANT CONNECT ON DATABASE rvm TO node_red;
