import { Redis } from 'ioredis'

/**
 * Reads `INFO` of a Redis (https://redis.io/docs/latest/commands/info/). Returns a function that
 * reads a numeric field by name, and throws if it is missing.
 */
export async function redisInfo(url: string): Promise<(field: string) => number> {
  const client = new Redis(url)
  const info = await client.info()
  client.disconnect()
  return (field) => {
    const [, number] = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info) ?? []
    if (number === undefined) throw new Error(`INFO of Redis has no number ${field}`)
    return Number(number)
  }
}

/**
 * Processor time (µs) that a Redis has used so far, and the bytes that it has received and sent.
 */
export async function redisWork(url: string) {
  const figure = await redisInfo(url)
  return {
    redisCpu: (figure('used_cpu_user') + figure('used_cpu_sys')) * 1e6,
    redisIn: figure('total_net_input_bytes'),
    redisOut: figure('total_net_output_bytes'),
  }
}
