/** The fields of an entry of the list of troubles that say what is wrong with a gateway. */
type Entry = { code?: unknown; severity?: unknown; title?: unknown; text?: unknown; where?: unknown }

export type GatewayFault = {
  gateway: string
  /** `refuses every delivery`, `does not work`. */
  what: string
  /** The code of the refusals, such as `signature_invalid`; or why the gateway does not work. */
  why: string
}

/**
 * What keeps messages from the routes of a gateway, if an entry of the list of troubles says so. Not
 * an information, such as that a gateway accepts deliveries again.
 */
export function gatewayFault({ code, severity, title, text, where }: Entry): GatewayFault | undefined {
  const { gateway, reason } = Object(where)
  if (severity === 'info' || typeof gateway !== 'string') return undefined
  if (code === 'refusals') {
    const begin = `Gateway ${gateway} `
    const isTitle = typeof title === 'string' && title.startsWith(begin)
    const what = isTitle ? title.slice(begin.length) : 'refuses deliveries'
    return { gateway, what, why: typeof reason === 'string' ? reason : '' }
  }
  if (code !== 'gateway-down') return undefined
  return { gateway, what: 'does not work', why: typeof text === 'string' ? text : '' }
}
