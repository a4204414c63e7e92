// Its presence lets auth.go declare functions without bodies.
