import type { KeptDeliveries } from '../deliveries/kept-deliveries.ts'

/** What webhook gateways need from the daemon: a memory that outlasts a change of the gateway. */
export type KeepingHost = { keptRefused: KeptDeliveries }
