-- Returns the names of all queues. Writes nothing.
return redis.call('SMEMBERS', root .. 'queues')
