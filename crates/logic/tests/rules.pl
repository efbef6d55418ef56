% A node is overloaded if it is in service and its processor is busier than 90 %.
overloaded(Node) :-
    in_service(Node),
    node_metric(Node, cpu_percent, Busy),
    Busy > 90.

% A guest is at risk if its node is overloaded or not in service.
at_risk(Guest) :-
    current_vm_host(Guest, Node),
    (   overloaded(Node)
    ;   \+ in_service(Node)
    ).

% Which guests could move to which node.
can_move(Guest, Node) :-
    current_vm_host(Guest, From),
    can_reach(From, Node),
    Node \== From,
    \+ overloaded(Node).
