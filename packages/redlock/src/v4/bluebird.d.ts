// Its types are a package of their own, which those who compile against this one need not have.
declare module 'bluebird' {
  const untyped: object
  export default untyped
}
