import { Redis } from 'ioredis'

/** The figures of `INFO` of a Redis (https://redis.io/docs/latest/commands/info/). */
export async function redisInfo(url: string): Promise<(field: string) => number> {
  const client = new Redis(url)
  const info = await client.info()
  client.disconnect()
  return (field) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)?.[1])
}

/** Processor time (µs) that a Redis has used so far, and the bytes that went in and out. */
export async function redisWork(url: string) {
  const of = await redisInfo(url)
  return {
    redisCpu: (of('used_cpu_user') + of('used_cpu_sys')) * 1e6,
    redisIn: of('total_net_input_bytes'),
    redisOut: of('total_net_output_bytes'),
  }
}
