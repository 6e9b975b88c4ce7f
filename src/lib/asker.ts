type Asker = { name: string | undefined; identity: string | undefined }

/**
 * The requester of an approval. `name`: as their message gives it, if the requester is its sender.
 * Anybody can choose any name, so the identity belongs beside it.
 */
export function askerOf({ by, message }: { by?: unknown; message?: unknown }): Asker {
  const identity = typeof by === 'string' ? by : undefined
  const { gateway, from } = Object(message)
  const isSender = identity?.startsWith(`${gateway}:`) === true && typeof from === 'string'
  const isNamed = isSender && from !== '' && identity !== `${gateway}:${from}`
  return { name: isNamed ? from : undefined, identity }
}
