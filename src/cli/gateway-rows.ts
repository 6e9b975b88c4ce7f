import type { JsonObject } from '../core/json.ts'
import { stateOfGateway } from '../engine/print/gateway.ts'

/**
 * Name, transport and state of each gateway: failing ones first, then those with another problem,
 * then paused ones.
 */
export function gatewayRows(running: readonly JsonObject[]): string[][] {
  return running
    .toSorted((a, b) => gatewayRank(a) - gatewayRank(b))
    .map((gateway) => [String(gateway.name), String(gateway.transport), gatewayState(gateway)])
}

/** Whether a gateway works, without a warning, and is not paused. */
export function isQuiet(gateway: JsonObject): boolean {
  return gatewayRank(gateway) === QUIET
}

const QUIET = 3

/** The place of a gateway among others; those of one rank keep the order of the file. */
function gatewayRank({ ok, refuses, warning, paused }: JsonObject): number {
  if (!ok) return 0
  if (refuses !== undefined || warning !== undefined) return 1
  return paused ? 2 : QUIET
}

/** As in `gateway list`; the detail of a gateway that works is left out. */
function gatewayState(gateway: JsonObject): string {
  const { detail, ...others } = gateway
  return stateOfGateway(gateway.ok === true ? others : { detail: detail ?? '', ...others })
}
