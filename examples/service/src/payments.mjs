const WAIT_MS = 500

/** Makes what pays orders: one payment at a time for each order, in the whole fleet. */
export const createPayments = ({ locks, orders, partners, shipping }) => ({
  /**
   * Who comes second waits for the first, and is given the paid order; after half a second it is told that the order is
   * busy. Resolves with undefined where there is no such order.
   */
  pay: (id) =>
    locks.getLock(`payment:${id}`).withLock(
      async (hold) => {
        const order = await orders.find(id)
        if (order?.state !== 'new') return order
        const charge = await partners.charge(order, hold.signal)
        const paid = await orders.markPaid(id, charge)
        // Dead before this line, the order is paid and in no queue: the sweep finds it.
        await shipping.add(paid)
        return paid
      },
      { waitMs: WAIT_MS },
    ),
})
