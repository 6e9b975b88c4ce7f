/** The Redis that the benchmark gave this process, as ioredis and BullMQ take it. */
export function redisOptions() {
  const { hostname, port } = new URL(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}
