\sleep 0
